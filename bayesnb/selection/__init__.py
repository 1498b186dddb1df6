"""Which features depend on the class, and which model describes the data?"""
