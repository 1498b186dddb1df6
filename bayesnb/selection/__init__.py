"""Which features tell the classes apart, and which model describes the data?"""
